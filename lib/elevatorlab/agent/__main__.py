"""``python3 agent.pyz TRIAL.json RESULT-FOLDER``: run one trial and write its result."""

import sys

if sys.argv[1:] == ["--worker"]:
    from agent.worker import serve

    serve()
else:
    from agent.run import main

    sys.exit(main(sys.argv[1:]))
