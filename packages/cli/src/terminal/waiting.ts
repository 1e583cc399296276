import type { Io } from '../io.ts'

/** A notice about a shorter wait would only flicker. */
const AFTER_MS = 1_000

/** Runs `work`; prints `words` on a terminal if it takes longer than a second. */
export async function tellWaiting<T>(
  io: Pick<Io, 'progress' | 'stderr'>,
  words: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!io.progress) return work()
  const timer = setTimeout(() => io.stderr.write(`${words}\n`), AFTER_MS)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Wraps the `fetch` of this run to print a notice while it waits for a server. */
export function patientFetch(io: Pick<Io, 'progress' | 'stderr' | 'fetch'>): typeof fetch {
  return (input, options) =>
    tellWaiting(io, `waiting for ${originOf(input)} …`, () => io.fetch(input, options))
}

function originOf(input: Parameters<typeof fetch>[0]): string {
  const url = typeof input === 'string' || input instanceof URL ? input : input.url
  return new URL(url).origin
}
