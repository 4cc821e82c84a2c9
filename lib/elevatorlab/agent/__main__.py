"""``python3 agent.pyz TRIAL.json RESULT-FOLDER``: run one trial and write its result."""

import sys

from agent.run import main
from agent.worker import serve

if sys.argv[1:] == ["--worker"]:
    serve()
else:
    sys.exit(main(sys.argv[1:]))
