/** Answers 1 for allow, otherwise 0. */
export type Answer = (text: string) => number

/**
 * Asks for every text in order and adds up the answers, so that the calls cannot be optimized away.
 */
export type Loop = (answer: Answer, texts: readonly string[]) => number

/**
 * Creates a separate loop for one contender. Closures of one source text share type feedback: in a
 * shared loop V8 could no longer inline the call of a second contender.
 */
export function createLoop(): Loop {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has its own feedback
  return new Function(
    'answer',
    'texts',
    'let sum = 0; for (let i = 0; i < texts.length; i++) sum += answer(texts[i]); return sum',
  ) as Loop
}

/** Creates a loop that looks up each text in the map, with no function between them. */
export function createMapLoop(
  map: ReadonlyMap<string, number>,
): (texts: readonly string[]) => number {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has its own feedback
  const loop = new Function(
    'map',
    'texts',
    'let sum = 0; for (let i = 0; i < texts.length; i++) sum += map.get(texts[i]) ?? 0; return sum',
  ) as (map: ReadonlyMap<string, number>, texts: readonly string[]) => number
  return (texts) => loop(map, texts)
}

/** Creates a separate loop for requests of two texts. */
export function createPairLoop(): (
  answer: (text: string, second: string) => number,
  texts: readonly string[],
  seconds: readonly string[],
) => number {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has its own feedback
  return new Function(
    'answer',
    'texts',
    'seconds',
    'let sum = 0; for (let i = 0; i < texts.length; i++) sum += answer(texts[i], seconds[i]); ' +
      'return sum',
  ) as ReturnType<typeof createPairLoop>
}

/** Returns 0 when a deny matches, else 1 when an allow matches, else 0. */
export type ScanLoop = <Key>(
  denies: readonly ((key: Key) => boolean)[],
  allows: readonly ((key: Key) => boolean)[],
  key: Key,
) => number

/** Creates a separate scan for one contender, for the same reason. */
export function createScanLoop(): ScanLoop {
  // oxlint-disable-next-line no-implied-eval -- only a new function literal has its own feedback
  return new Function(
    'denies',
    'allows',
    'key',
    'for (const m of denies) if (m(key)) return 0; ' +
      'for (const m of allows) if (m(key)) return 1; return 0',
  ) as ScanLoop
}
