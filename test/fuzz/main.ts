import { palisade } from './evaluator.ts'
import { formatFound, formatTally } from './format-report.ts'
import { runProxyCommand } from './proxy/command.ts'
import { readOptions, USAGE, type Options } from './read-options.ts'
import { runFuzz } from './run-fuzz.ts'

const PROGRESS_MS = 5000
const SHRINK_MS = 30_000

function run({ minutes, seed: given }: Options): number {
  const seed = given ?? Math.floor(Math.random() * 0x7fffffff)
  process.stderr.write(`fuzz: ${minutes} minutes, seed ${seed}\n`)
  let toldMs = 0
  const { tally, found } = runFuzz(palisade, {
    seed,
    forMs: minutes * 60_000,
    shrinkMs: SHRINK_MS,
    now: () => performance.now(),
    onProgress: ({ cases, sets, elapsedMs }) => {
      if (elapsedMs - toldMs < PROGRESS_MS) return
      toldMs = elapsedMs
      const seconds = (elapsedMs / 1000).toFixed(0).padStart(4)
      process.stderr.write(`fuzz: ${seconds} s  ${cases} cases, ${sets} sets, no difference\n`)
    },
  })
  if (found !== null) process.stdout.write(`${formatFound(found)}\n`)
  const outcome = found === null ? 'no difference' : 'a difference'
  process.stdout.write(`fuzz: ${outcome}: ${formatTally(tally, seed)}\n`)
  return found === null ? 0 : 1
}

const argv = process.argv.slice(2)
const options = readOptions(argv)
if (argv[0] === 'proxy') process.exitCode = await runProxyCommand(argv.slice(1))
else if (options === 'help') process.stdout.write(USAGE)
else if ('wrong' in options) {
  process.stderr.write(`fuzz: ${options.wrong}\n`)
  process.exitCode = 2
} else process.exitCode = run(options)
