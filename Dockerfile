# Two images. The environment that trials run in, from the one recipe (environments/):
#
#     make environment-image                            tags it elevatorlab-environment
#
# And, with everything on top, Elevator Lab without apt, root or KVM on your machine:
#
#     docker build -t elevatorlab .
#     docker run --rm --cap-add SYS_ADMIN --security-opt seccomp=unconfined \
#         --security-opt apparmor=unconfined -v "$PWD/out:/out" elevatorlab
#
# The last command runs the quick preset of every study, prints the same bits as any other
# machine, and leaves the report in out/. It needs these options because the compiler of a
# scheduler's module is locked into namespaces; trials without modules need none of them.
FROM debian:bookworm-slim AS environment
COPY environments/provision.sh environments/packages.txt environments/versions.tsv \
    environments/boot-packages.txt /environments/
# What must not be the same in two machines (keys, the machine's name for itself) goes.
RUN /environments/provision.sh --exact && \
    rm -rf /var/lib/apt/lists/* /var/log/apt /etc/ssh/ssh_host_* && : >/etc/machine-id

FROM environment AS laboratory
WORKDIR /elevatorlab

RUN apt-get update && apt-get install --yes --no-install-recommends make

# In the order in which they change least, so that a rebuild repeats little.
COPY Makefile environments/host-packages.txt environments/host-setup.sh ./
RUN mkdir environments && mv host-packages.txt host-setup.sh environments/ && make host
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY environments/python_packages.py environments/
COPY lib lib
RUN make .venv/installed && rm -r ~/.cache/elevatorlab/python-packages
COPY environments environments
RUN make image
COPY . .

# What `--attest` says of how it was run.
ENV ELEVATORLAB_ROUTE=container
ENTRYPOINT [".venv/bin/elevatorlab"]
CMD ["reproduce", "--preset", "quick", "--results", "/out/results", "--out", "/out/report", "--attest"]
