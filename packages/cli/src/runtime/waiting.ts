import type { Io } from './io.ts'

type ProgressIo = Pick<Io, 'progress' | 'stderr'>

/** A notice about a shorter wait would only flicker. */
const AFTER_MS = 1_000

/**
 * Returns a function that shows one line on a terminal. Each text replaces the one before, and an
 * empty text leaves nothing, so that a table below stands alone.
 */
export function createProgressLine({ progress, stderr }: ProgressIo): (text: string) => void {
  return (text) => {
    // Back to the start of the line, and clear the rest of it.
    if (progress) stderr.write(`\r${text}\u001B[K`)
  }
}

/** Runs `work`; after a second, shows the words of its present step until it ends. */
export async function tellSteps<T>(
  io: ProgressIo,
  work: (step: (words: string) => void) => Promise<T>,
): Promise<T> {
  if (!io.progress) return work(() => undefined)
  const show = createProgressLine(io)
  let present = ''
  let isShown = false
  const timer = setTimeout(() => {
    isShown = true
    show(present)
  }, AFTER_MS)
  try {
    return await work((words) => {
      present = words
      if (isShown) show(words)
    })
  } finally {
    clearTimeout(timer)
    if (isShown) show('')
  }
}

/** Runs `work`; shows `words` on a terminal if it takes longer than a second. */
export async function tellWaiting<T>(
  io: ProgressIo,
  words: string,
  work: () => Promise<T>,
): Promise<T> {
  return tellSteps(io, (step) => {
    step(words)
    return work()
  })
}

/** Says that the command waits for a person to type, where its standard input is a terminal. */
export function tellTyping({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, words: string): void {
  if (stdin.isTTY === true) stderr.write(`reading ${words}; Ctrl-D ends the input\n`)
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
