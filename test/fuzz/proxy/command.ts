import { parseArgs } from 'node:util'
import { runProxyFuzz } from './run-proxy-fuzz.ts'

export const PROXY_USAGE = `usage: npm run fuzz -- proxy [--cases N] [--seed S]

Reads mutated first flights, HTTP heads and SOCKS frames with the parsers of the proxy, and compares
them with the parser of Node. Exit code: 0 no broken law, 1 a broken law, 2 wrong usage.
`

const CASES = 1_000_000
const PROGRESS = 100_000

/** Runs the command and returns its exit code. */
export async function runProxyCommand(argv: readonly string[]): Promise<number> {
  const options = readProxyOptions(argv)
  if (options === null) {
    process.stderr.write(PROXY_USAGE)
    return 2
  }
  const { cases, seed } = options
  process.stderr.write(`fuzz: ${cases} cases of the proxy, seed ${seed}\n`)
  const broken = await runProxyFuzz({
    seed,
    cases,
    onProgress: (done) => {
      if (done % PROGRESS === 0) process.stderr.write(`fuzz: ${done} cases, no broken law\n`)
    },
  })
  if (broken === null) {
    process.stdout.write(`fuzz: no broken law: ${cases} cases, seed ${seed}\n`)
    return 0
  }
  const repeat = `npm run fuzz -- proxy --cases 1 --seed ${broken.seed}`
  process.stdout.write(`fuzz: ${broken.law}\nbytes: ${broken.bytes.toString('hex')}\n${repeat}\n`)
  return 1
}

/** Returns null for wrong usage. */
export function readProxyOptions(
  argv: readonly string[],
): { readonly cases: number; readonly seed: number } | null {
  try {
    const options = { cases: { type: 'string' }, seed: { type: 'string' } } as const
    const { values } = parseArgs({ args: [...argv], options })
    const random = String(Math.floor(Math.random() * 0x7fffffff))
    const { cases = String(CASES), seed = random } = values
    if (![cases, seed].every((text) => /^\d{1,9}$/.test(text) || text === random)) return null
    return { cases: Number(cases), seed: Number(seed) }
  } catch {
    return null
  }
}
