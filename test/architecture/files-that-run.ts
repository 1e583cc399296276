import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')

/** What runs in each of so many rounds belongs to the operation; a timer runs in few. */
const ROUNDS = 3

/**
 * The sources in which a function is entered each time that `run` runs, relative to the root,
 * without the evaluation of modules. `parts` are the folders that count.
 */
export async function filesThatRun(
  parts: readonly string[],
  run: (round: number) => Promise<unknown>,
): Promise<readonly string[]> {
  const rounds: ReadonlySet<string>[] = []
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push(await filesOfOne(parts, () => run(round)))
  return [...(rounds[0] ?? [])].filter((file) => rounds.every((files) => files.has(file)))
}

async function filesOfOne(
  parts: readonly string[],
  run: () => Promise<unknown>,
): Promise<ReadonlySet<string>> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    // Reading resets the counts.
    await session.post('Profiler.takePreciseCoverage')
    await run()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    const files = result
      .filter(({ functions }) =>
        functions.some(
          ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
        ),
      )
      .map(({ url }) => pathOf(url))
      .filter((file) => parts.some((part) => file.startsWith(part)))
    return new Set(files.toSorted())
  } finally {
    session.disconnect()
  }
}

function pathOf(url: string): string {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  return path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1) : ''
}
