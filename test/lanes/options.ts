/** A lane of tests, told by the names of its files; see CONTRIBUTING.md. */
export type Lane = 'fast' | 'full'

export interface LaneOptions {
  readonly help: boolean
  /** Runs the tests again at each edit. */
  readonly watch: boolean
  /** Leaves out the tests of missing programs. */
  readonly withoutMissing: boolean
  /** Leaves out the tests that `npm test` has run. */
  readonly afterTest: boolean
  /** For vitest: paths and its own options. */
  readonly rest: readonly string[]
}

const OWN = ['--help', '-h', '--watch', '--without-missing', '--after-test']

export function readLaneOptions(args: readonly string[]): LaneOptions {
  const has = (...names: readonly string[]) => names.some((name) => args.includes(name))
  return {
    help: has('--help', '-h'),
    watch: has('--watch'),
    withoutMissing: has('--without-missing'),
    afterTest: has('--after-test'),
    rest: args.filter((arg) => !OWN.includes(arg)),
  }
}

/** The projects of `vitest.config.ts` that the lane runs. */
export function projectsOf(lane: Lane, { afterTest }: LaneOptions): readonly string[] {
  if (lane === 'fast') return ['fast']
  return [afterTest ? 'laws' : 'fast', 'process', 'PostgreSQL']
}

export const USAGE = `usage: npm test -- [OPTIONS] [PATH ...]
       npm run test:full -- [OPTIONS] [PATH ...]

\`npm test\` runs the tests that need nothing but Node, laws at a tenth of their size.
\`npm run test:full\` adds those that start processes (*.process.test.ts), laws at full
size, and the server on PostgreSQL.

  --watch            runs the tests again at each edit
  --coverage         coverage of the evaluator, with its thresholds
  --without-missing  full: leaves out the tests of programs that are not installed
  --after-test       full: leaves out the tests that \`npm test\` has run
  -t PATTERN         only tests with such a name; further options go to vitest

examples:
  npm test -- test/policy-core
  npm test -- --watch test/server/governance
  npm test -- test/agent/proxy -t "closes the tunnel"
  PALISADE_SEED=7 PALISADE_CASES=10 npm test -- test/policy-core/decide.property.test.ts
  npm run test:full -- test/agent/sandbox
`
