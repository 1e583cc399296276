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
 * The agent runs for as long as the machine does and is idle most of the time, so its options save
 * memory (bench: agent/rest).
 *
 * - By default V8 keeps up to 32 MiB for new objects, and four threads.
 * - Its optimizing compilers hold memory of their own. Without them decisions, starts and
 *   compilation use more processor time.
 * - For size, V8 collects the garbage of the start at once instead of after a time at rest.
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
 * - By default V8 keeps up to 128 MiB for new objects on a machine with much memory; the first
 *   option bounds that at 64 MiB.
 * - With the second option it has them from the start. By default it begins with 2 MiB and grows
 *   differently from one process to the next (bench: server/requests).
 * - The third option: V8 allocates the objects of some call sites in the old generation once many
 *   of them have survived. A response in the old generation keeps its whole request in memory until
 *   the next full collection.
 *
 * Apart: packages with native parts or pages beside their code, a package that finds its other
 * copies through the process, and packages that only few servers load.
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
    '@opentelemetry/core',
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
