# The image of a node (`prefect worker`) and of the servers beside PostgreSQL: CoMind, its toolbox, bubblewrap.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}
ARG PIP_INDEX_URL
RUN command -v bwrap git > /dev/null \
 || { apt-get update && apt-get install --yes --no-install-recommends bubblewrap git && rm -rf /var/lib/apt/lists/*; }
WORKDIR /comind
# packages first, so that a change of our code does not install them again
COPY requirements requirements
COPY infra/torchvision.sh infra/
RUN python3 -m venv .venv \
 && .venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements/base.txt -r requirements/stack.txt
ARG TOOLBOX=1
RUN if [ -n "$TOOLBOX" ]; then python3 -m venv .toolbox \
 && .toolbox/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements/toolbox.txt \
 && infra/torchvision.sh .toolbox \
 && cp requirements/toolbox.txt .toolbox/lock.txt; fi
COPY . .
RUN .venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --editable .
ENV PATH=/comind/.venv/bin:$PATH COMIND_NODE_CACHE=/cache PREFECT_SERVER_ANALYTICS_ENABLED=false DO_NOT_TRACK=true
VOLUME /cache
CMD ["prefect", "worker", "start", "--type", "process", "--pool", "cpu", "--with-healthcheck"]
