import { AGENT, bundleOf, CLI, SERVER } from './programs.mjs'

/**
 * @typedef {object} Task
 * @property {string} summary
 * @property {import('./prepare/build.mjs').BuildScope | 'nothing'} build the part
 *   that must be built first
 * @property {boolean} product whether it runs for a user, in the user's folder, with a data
 *   directory
 * @property {string} [extra] folder with an installation of its own that only this task needs
 * @property {readonly string[]} [nodeOptions] of every step
 * @property {Readonly<Record<string, string>> | undefined} [environment] where the caller sets no
 *   other
 * @property {readonly (readonly string[])[]} steps files for Node with arguments, run in order; the
 *   caller's arguments go to the last
 */

const PRETTIER = 'node_modules/prettier/bin/prettier.cjs'
const OXLINT = 'node_modules/oxlint/bin/oxlint'

/** @type {Readonly<Record<string, Task>>} */
export const TASKS = {
  start: {
    summary: 'server and agent on this machine; `--demo` runs the worked example',
    build: 'product',
    product: true,
    steps: [['packages/launcher/start.ts']],
  },
  palisade: {
    summary: 'the palisade command',
    build: 'product',
    product: true,
    steps: [[bundleOf(CLI)]],
  },
  'palisade-server': {
    summary: 'the server alone',
    build: 'product',
    product: true,
    nodeOptions: SERVER.nodeOptions,
    environment: SERVER.environment,
    steps: [[bundleOf(SERVER)]],
  },
  'palisade-agent': {
    summary: 'the agent alone',
    build: 'product',
    product: true,
    nodeOptions: AGENT.nodeOptions,
    steps: [[bundleOf(AGENT)]],
  },
  test: {
    summary: 'the tests that need Node alone; `--help` has examples',
    build: 'nothing',
    product: false,
    steps: [['test/lanes/main.ts', 'fast']],
  },
  'test:full': {
    summary: 'every test: laws at full size, processes, sandboxes, PostgreSQL',
    build: 'everything',
    product: false,
    extra: 'test/browser',
    steps: [['test/lanes/main.ts', 'full']],
  },
  bench: {
    summary: 'measures decisions and programs beside others; lists its subjects',
    build: 'everything',
    product: false,
    extra: 'bench/peers',
    steps: [['bench/src/main.ts']],
  },
  fuzz: {
    summary: 'decide and explain against the reference evaluator; `--minutes N`, `--seed S`',
    build: 'everything',
    product: false,
    steps: [['test/fuzz/main.ts']],
  },
  check: {
    summary: 'types, lint and format, and the OpenAPI document',
    build: 'everything',
    product: false,
    extra: 'test/openapi',
    steps: [['test/openapi/lint-document.ts'], [OXLINT], [PRETTIER, '--check', '.']],
  },
  format: {
    summary: 'writes the format that `check` requires',
    build: 'nothing',
    product: false,
    steps: [[PRETTIER, '--write', '--log-level', 'warn', '.']],
  },
  build: { summary: 'compiles everything', build: 'everything', product: false, steps: [] },
}

/** @returns {string} */
export function usage() {
  const lines = Object.entries(TASKS).map(([name, task]) => `  ${name.padEnd(16)} ${task.summary}`)
  return ['usage: node packages/launcher/run.mjs TASK [arguments]', '', ...lines].join('\n')
}
