import type { Origin } from './origin.ts'

/** The names of the server: one that policy allows, and one that it does not. */
export const ALLOWED = 'good.test'
export const DENIED = 'bad.test'

/** Work of a program, in a directory of its own within the workspace. */
export interface Work {
  /** Programs that it needs in the sandbox. */
  readonly needs: readonly string[]
  readonly title: string
  /** Text by name of a file, which is in the directory before. */
  readonly files?: Readonly<Record<string, string>>
  /** Whether the directory is a repository of git before. */
  readonly isRepository?: boolean
  readonly allowed: Attempt
  readonly denied: Attempt
}

/** A shell script and its outcome. */
export interface Attempt {
  readonly script: (origin: Origin) => string
  /** In its output. */
  readonly shows: string
  /** 0 if absent. */
  readonly code?: number
}

/** Work that goes to a host. */
function network(
  work: Pick<Work, 'needs' | 'title' | 'files'>,
  script: (host: string, origin: Origin) => string,
  { done, refused, code }: { done: string; refused: string; code: number },
): Work {
  return {
    ...work,
    allowed: { script: (origin) => script(ALLOWED, origin), shows: done },
    denied: { script: (origin) => script(DENIED, origin), shows: refused, code },
  }
}

const http = (host: string, { port }: Origin): string => `http://${host}:${port}`

/** Programs then do not know of the proxy, and their connections are captured. */
const WITHOUT_PROXY =
  'unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NODE_USE_ENV_PROXY; '

const TESTS_OF_NODE = `const test = require('node:test')
const { readFileSync } = require('node:fs')
test('reads', () => require('node:assert').equal(readFileSync(process.env.INPUT, 'utf8'), 'text'))
`
const TESTS_OF_PYTHON = `import os, unittest
class Reads(unittest.TestCase):
    def test_reads(self):
        with open(os.environ['INPUT']) as file:
            self.assertEqual(file.read(), 'text')
`
const MAKEFILE = `main: main.c
\t$(CC) -O1 -Wall $(FLAGS) -o $@ $<
`
const MAIN = `#include <stdio.h>
#ifdef SECRET
#include "secret.h"
#else
#define SECRET_TEXT "built inside"
#endif
int main(void) { puts(SECRET_TEXT); return 0; }
`

const AUTHOR = `export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@good.test
export GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@good.test`

const clone = (host: string, origin: Origin): string => `${AUTHOR}
  git clone --quiet ${http(host, origin)}/project.git clone && cd clone &&
  git config push.default current &&
  echo text >file && git add file && git commit --quiet -m 'from inside' &&
  git push --quiet origin HEAD:refs/heads/"$BRANCH" && git ls-remote origin`

/** The key of the server is not known, and no input says yes. */
const ssh = (host: string, port: number): string =>
  `ssh -v -o BatchMode=yes -p ${port} ${host} true`

/** Chromium's own sandbox needs a user namespace, which the sandbox does not give. */
const browse = (host: string, origin: Origin): string =>
  `chromium-headless-shell --no-sandbox --dump-dom ${http(host, origin)}/index.html 2>&1`

export const WORKS: readonly Work[] = [
  network(
    {
      needs: ['npm', 'node'],
      title: 'npm installs a package',
      files: { 'package.json': '{ "dependencies": { "demo": "1.0.0" } }' },
    },
    (host, origin) =>
      `npm install --no-audit --no-fund --registry=${http(host, origin)} &&
      node --print 'require("demo")'`,
    { done: 'from npm\n', refused: '403 403 Palisade: bad.test:', code: 1 },
  ),
  network(
    { needs: ['git'], title: 'git clones, commits and pushes' },
    (host, origin) => `BRANCH=proxy; ${clone(host, origin)}`,
    { done: 'refs/heads/proxy\n', refused: 'The requested URL returned error: 403', code: 128 },
  ),
  network(
    { needs: ['git'], title: 'git clones, commits and pushes without a proxy' },
    (host, origin) => `${WITHOUT_PROXY} BRANCH=capture; ${clone(host, origin)}`,
    { done: 'refs/heads/capture\n', refused: 'Could not resolve host: bad.test', code: 128 },
  ),
  network(
    { needs: ['python3', 'pip'], title: 'pip installs a wheel' },
    (host, origin) =>
      `python3 -m pip install --quiet --disable-pip-version-check --retries=1 --target=lib \\
      --index-url=${http(host, origin)}/simple/ --trusted-host=${host} demo &&
      PYTHONPATH=lib python3 -c 'import demo; print(demo.origin)'`,
    { done: 'from pip\n', refused: 'No matching distribution found for demo', code: 1 },
  ),
  {
    needs: ['git'],
    title: 'git commits in a repository that was there, whose settings stay',
    files: { file: 'text' },
    isRepository: true,
    allowed: {
      script: () => `${AUTHOR}; git add file && git commit -q -m 'from inside' && git log`,
      shows: 'from inside\n',
    },
    denied: {
      script: () => `${AUTHOR}; git config core.hooksPath /tmp`,
      shows: 'could not write config file',
      code: 4,
    },
  },
  {
    needs: ['ssh'],
    title: 'ssh speaks to a server',
    allowed: {
      script: ({ sshPort }) => ssh(ALLOWED, sshPort),
      shows: 'remote software version Stub',
      code: 255,
    },
    denied: {
      script: ({ sshPort }) => ssh(DENIED, sshPort),
      shows: 'Could not resolve hostname bad.test',
      code: 255,
    },
  },
  network({ needs: ['chromium-headless-shell'], title: 'chromium shows a page' }, browse, {
    done: '<body>reached',
    refused: '<p>bad.test:',
    code: 0,
  }),
  network(
    { needs: ['chromium-headless-shell'], title: 'chromium shows a page without a proxy' },
    (host, origin) => `${WITHOUT_PROXY} ${browse(host, origin)}`,
    { done: '<body>reached', refused: 'Page load failed: net::ERR_', code: 1 },
  ),
  {
    needs: ['make', 'cc'],
    title: 'make builds a program with the C compiler',
    files: { Makefile: MAKEFILE, 'main.c': MAIN, 'secret.h': '#define SECRET_TEXT "SECRET"\n' },
    allowed: { script: () => 'make && ./main', shows: 'built inside\n' },
    denied: {
      script: () => 'make FLAGS=-DSECRET',
      shows: "'SECRET_TEXT' undeclared",
      code: 2,
    },
  },
  {
    needs: ['node'],
    title: 'node runs tests',
    files: { 'a.test.cjs': TESTS_OF_NODE, input: 'text', '.env': 'text' },
    allowed: { script: () => 'INPUT=input node --test a.test.cjs', shows: 'pass 1' },
    denied: { script: () => 'INPUT=.env node --test a.test.cjs', shows: 'fail 1', code: 1 },
  },
  {
    needs: ['python3'],
    title: 'python runs tests',
    files: { 'test_a.py': TESTS_OF_PYTHON, input: 'text', '.env': 'text' },
    allowed: { script: () => 'INPUT=input python3 -m unittest', shows: 'OK\n' },
    denied: {
      script: () => 'INPUT=.env python3 -m unittest',
      shows: 'FAILED (failures=1)',
      code: 1,
    },
  },
]
