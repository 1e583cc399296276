/**
 * Programs that are joined into one file after they were compiled: hundreds of modules take Node
 * longer to find and link than to run. The compiler's own output stays beside it, for tests.
 *
 * @typedef {object} BundledProgram
 * @property {string} main what the compiler writes, relative to the root
 * @property {string} name of the one file, `NAME.cjs` beside `main`
 * @property {readonly string[]} nodeOptions
 * @property {readonly string[]} apart packages that stay as they are installed
 */

/**
 * It runs for as long as the machine does, and rests. Measured with 5,000 rules, a server and
 * hints, resident a minute after the start: 87 MiB with the first two options, 68 with all.
 *
 * - By default V8 keeps up to 32 MiB for what is new, and four threads for it.
 * - Its optimizing compilers hold their own memory and 8 MiB of Node's file, and after 4,000
 *   decisions in a row
 *   15 MiB more. Without them a decision over the socket costs half as much processor time again; a
 *   start with 5,000 rules
 *   costs the same (376 ms and 384, least of eight in turns), compiling 25,000 twice as much (1.75
 *   s).
 * - By default what the start has left is collected after a minute and a half of rest, which was
 *   most of what
 *   rest cost; for size it is at once.
 *
 * @type {BundledProgram}
 */
export const AGENT = {
  main: 'agent/dist/main.js',
  name: 'palisade-agent',
  nodeOptions: [
    '--max-semi-space-size=1',
    '--v8-pool-size=1',
    '--no-opt',
    '--no-maglev',
    '--optimize-for-size',
  ],
  apart: [],
}

/** @type {BundledProgram} */
export const CLI = {
  main: 'packages/cli/dist/main.js',
  name: 'palisade',
  nodeOptions: [],
  apart: [],
}

/**
 * By default V8 keeps up to 128 MiB for what is new on a machine with much memory, and grows into
 * them while views of many organizations are formatted; with the first option 64.
 *
 * With the second it has them from the start. By default it begins with 2 MiB and grows as it sees
 * fit, which was different from one process to the next: of eight that answered the same polls and
 * reads, five took half as much processor time again, and their slowest one in a hundred waited 7
 * to 17 ms instead of 3 to 7; with it none of eight.
 *
 * Sixteen for each half, as it was, copies more of what waits for a commit: four fresh servers
 * each, in turns, took 104, 98 and 96 us for a rule's creation with 16, 32 and 64. A thousand
 * organizations take 531 to 551 MiB with 32 and 520 to 530 with 16, a server at rest no more.
 *
 * The third option: V8 allocates what some code makes in the old generation once much of it has
 * survived, and a response that is in the old generation keeps its whole request in memory until
 * the next full collection.
 *
 * Apart: what has native parts or pages beside its code, what finds its other copies by way of the
 * process, and what only few servers load.
 *
 * @type {BundledProgram}
 */
export const SERVER = {
  main: 'server/dist/main.js',
  name: 'palisade-server',
  nodeOptions: [
    '--max-semi-space-size=32',
    '--min-semi-space-size=32',
    '--no-allocation-site-pretenuring',
  ],
  apart: [
    'better-sqlite3',
    '@fastify/swagger',
    '@fastify/swagger-ui',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
    'pg',
  ],
}

/**
 * A thread of the server; not started by itself.
 *
 * @type {BundledProgram}
 */
export const POLICY_WORKER = {
  main: 'server/dist/policy-worker.js',
  name: 'palisade-policy-worker',
  nodeOptions: [],
  apart: [],
}

/**
 * A thread of the server; not started by itself.
 *
 * @type {BundledProgram}
 */
export const CHECKPOINT_WORKER = {
  main: 'server/dist/checkpoint-worker.js',
  name: 'palisade-checkpoint-worker',
  nodeOptions: [],
  apart: ['better-sqlite3'],
}

export const BUNDLED = [AGENT, CLI, SERVER, POLICY_WORKER, CHECKPOINT_WORKER]

/**
 * The one file of a program, relative to the root.
 *
 * @param {BundledProgram} program
 */
export function bundleOf({ main, name }) {
  return main.replace(/[^/]+$/, `${name}.cjs`)
}
