# Elevator Lab without apt, root or KVM on your machine:
#
#     docker build -t elevatorlab .
#     docker run --rm -v "$PWD/out:/out" elevatorlab
#
# The second command runs the quick preset of every study in an ordinary, unprivileged
# container, prints the same bits as any other machine, and leaves the report in out/.
FROM debian:bookworm-slim
WORKDIR /elevatorlab

RUN apt-get update && apt-get install --yes --no-install-recommends make ca-certificates

# In the order in which they change least, so that a rebuild repeats little.
COPY Makefile environments/host-packages.txt environments/host-setup.sh ./
RUN mkdir environments && mv host-packages.txt host-setup.sh environments/ && make host
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY lib lib
RUN make .venv/installed
COPY environments environments
RUN make image
COPY . .

ENTRYPOINT [".venv/bin/elevatorlab"]
CMD ["reproduce", "--preset", "quick", "--results", "/out/results", "--out", "/out/report"]
