# goal: Nothing more: what is left is for the report
