import type { Contender } from './contenders/contender.ts'
import { copyStrings } from './measure/copy-strings.ts'
import type { InterleaveOptions, Lane } from './measure/interleave.ts'
import { HOSTILE_CYCLE, type Mix } from '../workload/domain.ts'
import { createLoop, createPairLoop } from './measure/isolated-loop.ts'

/**
 * Requests in a stream: a multiple of every `step`. Each slice continues where the last one ended.
 */
export const STREAM_LENGTH = 4080

/** The number of requests after which a mix repeats its kinds; see `takeTurn`. */
export const CYCLES = {
  mixed: 10,
  allow: 10,
  deny: 10,
  miss: 10,
  hostile: HOSTILE_CYCLE,
} as const satisfies Readonly<Record<Mix, number>>

/** Creates a lane that runs a contender on a stream of requests, each a new string. */
export function createLane(
  { name, answer, run }: Contender,
  requests: readonly string[],
  step: number,
): Lane {
  const loop = createLoop()
  const all = run ?? ((texts: readonly string[]) => loop(answer, texts))
  let at = 0
  let texts: readonly string[] = []
  return {
    contender: name,
    step,
    maxCount: requests.length,
    prepare(count) {
      texts = copyStrings(requests, at, count)
      at = (at + count) % requests.length
    },
    work: () => all(texts),
  }
}

/** Answers a request of two texts: 1 for allow, otherwise 0. */
export type PairAnswer = (text: string, second: string) => number

/** Creates a lane for requests of two texts, both fresh. */
export function createPairLane(
  contender: string,
  answer: PairAnswer,
  [texts, seconds]: readonly [readonly string[], readonly string[]],
  step: number,
): Lane {
  const loop = createPairLoop()
  let at = 0
  let fresh: readonly [readonly string[], readonly string[]] = [[], []]
  return {
    contender,
    step,
    maxCount: texts.length,
    prepare(count) {
      fresh = [copyStrings(texts, at, count), copyStrings(seconds, at, count)]
      at = (at + count) % texts.length
    },
    work: () => loop(answer, ...fresh),
  }
}

/** The settings of every case that times decisions. */
export function decisionTiming(budgetMs: number): InterleaveOptions {
  return {
    budgetMs,
    sliceMs: 2,
    warmUpMs: Math.min(150, budgetMs / 5),
    maxPieceMs: 50,
    column: 'ns',
    scale: 1,
    ratio: 'x Map.get',
  }
}
