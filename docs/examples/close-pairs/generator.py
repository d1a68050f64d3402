"""Random points, in one square or in clumps."""

import random


def generate():
    """Return 16 instances of two cases."""
    made = []
    for number in range(16):
        draw = random.Random(number)
        clumped = number % 2
        centres = [(draw.random(), draw.random()) for _ in range(20)]
        points = []
        for _ in range(2_500):
            x, y = draw.choice(centres) if clumped else (draw.random(), draw.random())
            points.append([x + clumped * draw.gauss(0, 0.02), y + clumped * draw.gauss(0, 0.02)])
        instance = {"points": points, "radius": 0.01}
        made.append({"case": "clumps" if clumped else "square", "instance": instance})
    return made
