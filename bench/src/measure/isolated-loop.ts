/** 1 for allow, 0 for anything else. */
export type Answer = (text: string) => number

/** Asks for every text, in order, and adds up the answers, so that none can be optimized away. */
export type Loop = (answer: Answer, texts: readonly string[]) => number

/**
 * A loop of its own for one contender. Closures of one source text share type feedback: with a
 * loop in common the second contender would find a call that V8 can no longer inline.
 */
export function createLoop(): Loop {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has feedback of its own
  return new Function(
    'answer',
    'texts',
    'let sum = 0; for (let i = 0; i < texts.length; i++) sum += answer(texts[i]); return sum',
  ) as Loop
}

/** A loop of its own for requests of two texts. */
export function createPairLoop(): (
  answer: (text: string, second: string) => number,
  texts: readonly string[],
  seconds: readonly string[],
) => number {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has feedback of its own
  return new Function(
    'answer',
    'texts',
    'seconds',
    'let sum = 0; for (let i = 0; i < texts.length; i++) sum += answer(texts[i], seconds[i]); return sum',
  ) as ReturnType<typeof createPairLoop>
}

/**
 * Whether a key matches: 0 when one of the denies does, else 1 when one of the allows does, else 0.
 */
export type ScanLoop = <Key>(
  denies: readonly ((key: Key) => boolean)[],
  allows: readonly ((key: Key) => boolean)[],
  key: Key,
) => number

/** A scan of its own for one contender, for the same reason. */
export function createScanLoop(): ScanLoop {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has feedback of its own
  return new Function(
    'denies',
    'allows',
    'key',
    'for (const m of denies) if (m(key)) return 0; for (const m of allows) if (m(key)) return 1; return 0',
  ) as ScanLoop
}
