/**
 * A program that is bundled from its sources: Node takes longer to find and link hundreds of
 * modules than to run them. Dynamic imports get files of their own, loaded only if they are needed.
 *
 * @typedef {object} BundledProgram
 * @property {string} main source, relative to the root
 * @property {string} name of the bundle, `NAME.cjs` and `NAME.*.cjs`
 * @property {readonly string[]} nodeOptions
 * @property {Readonly<Record<string, string>>} [environment] where the caller sets no other
 */

/**
 * Packages that are not bundled: with native parts or pages beside their code, one that finds its
 * other copies through the process, and those that only few servers load.
 */
export const EXTERNAL = [
  'better-sqlite3',
  'koffi',
  '@fastify/swagger',
  '@fastify/swagger-ui',
  '@opentelemetry/api',
  '@opentelemetry/core',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  'pg',
]

/**
 * The agent runs as long as the machine and is idle most of the time, so its options save memory
 * (bench: tunnels/held). By default V8 keeps up to 32 MiB for new objects, and four threads; and
 * the heap grows so far between collections that each of 8,000 tunnels takes 38 kB instead of 21.
 * Options that save more, such as `--no-opt` and `--optimize-for-size`, make a new tunnel cost
 * twice as much (bench: tunnels/new).
 *
 * @type {BundledProgram}
 */
export const AGENT = {
  main: 'agent/src/main.ts',
  name: 'palisade-agent',
  nodeOptions: ['--max-semi-space-size=1', '--v8-pool-size=1', '--heap-growing-percent=40'],
}

/**
 * The process that keeps the namespaces of a sandbox; the agent starts it.
 *
 * @type {BundledProgram}
 */
export const HOLDER = {
  main: 'agent/src/sandbox/holder/holder-main.ts',
  name: 'palisade-holder',
  nodeOptions: [],
}

/** @type {BundledProgram} */
export const CLI = {
  main: 'packages/cli/src/main.ts',
  name: 'palisade',
  nodeOptions: [],
}

/**
 * - By default V8 keeps up to 128 MiB for new objects on a machine with much memory; the first
 *   option bounds that at 64 MiB.
 * - The second option reserves them from the start. By default V8 begins with 2 MiB, and its growth
 *   differs between processes (bench: server/poll).
 * - Without the third option V8 allocates the objects of some call sites in the old generation once
 *   many of them have survived. A response in the old generation keeps its whole request in memory
 *   until the next full collection.
 *
 * The environment is for the allocator of glibc, which by default keeps freed blocks in as many
 * arenas as there are threads: a quarter of the memory after loads (bench: server/hostile).
 *
 * @type {BundledProgram}
 */
export const SERVER = {
  main: 'server/src/main.ts',
  name: 'palisade-server',
  nodeOptions: [
    '--max-semi-space-size=32',
    '--min-semi-space-size=32',
    '--no-allocation-site-pretenuring',
  ],
  environment: {
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '131072',
    MALLOC_TRIM_THRESHOLD_: '131072',
  },
}

/** Threads and child processes of the server; not programs of their own. */
const WORKERS = [
  'policy-worker',
  'checkpoint-worker',
  'ingest-worker',
  'replay-worker',
  'suggest-worker',
  'review-worker',
]

/** @type {readonly BundledProgram[]} */
export const BUNDLED = [
  AGENT,
  HOLDER,
  CLI,
  SERVER,
  ...WORKERS.map((name) => ({
    main: `server/src/workers/${name}.ts`,
    name: `palisade-${name}`,
    nodeOptions: [],
  })),
]

/**
 * The bundle of a program, relative to the root: in `dist`, in the folder of its source. Those of
 * workers are beside that of the server, which starts them from there.
 *
 * @param {BundledProgram} program
 */
export function bundleOf({ main, name }) {
  return main.replace('/src/', '/dist/').replace(/(?:\/workers)?\/[^/]+$/, `/${name}.cjs`)
}
