import type { Io } from '../io.ts'

/** Below this a word about waiting would only flicker. */
const AFTER_MS = 1_000

/** Does `work`, and tells a person who looks on when that takes longer than a second. */
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

/** The `fetch` of this run, which tells a person that it waits for a server. */
export function patientFetch(io: Pick<Io, 'progress' | 'stderr' | 'fetch'>): typeof fetch {
  return (input, options) =>
    tellWaiting(io, `waiting for ${originOf(input)} …`, () => io.fetch(input, options))
}

function originOf(input: Parameters<typeof fetch>[0]): string {
  const url = typeof input === 'string' || input instanceof URL ? input : input.url
  return new URL(url).origin
}
