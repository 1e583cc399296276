/** Reads a file as text, and rejects if the process it is about has ended. */
export type ReadText = (path: string) => Promise<string>

/** The shell within the namespaces, bubblewrap, and its first child. */
const GENERATIONS = 3

/**
 * The process id of the first process of a sandbox, as the agent sees it. `trampoline` is the
 * process id of the supervising shell. Returns null if there is no such process yet, and for a
 * sandbox that has lost its supervisor.
 */
export async function findFirstProcess(
  trampoline: number,
  readText: ReadText,
): Promise<number | null> {
  let process: number | null = trampoline
  for (let generation = 0; generation < GENERATIONS && process !== null; generation += 1)
    process = await firstChild(process, readText)
  return process
}

async function firstChild(process: number, readText: ReadText): Promise<number | null> {
  const children = await readText(`/proc/${process}/task/${process}/children`).catch(() => '')
  const first = /^\d+/.exec(children)?.[0]
  return first === undefined ? null : Number(first)
}
