import { expect, it } from 'vitest'
import { createCallerTurns } from '../../../../server/src/operations/overload/caller-turns.ts'

/** Turns with a test clock and event loop; each request takes a millisecond. */
function openTurns() {
  let nowMs = 0
  let after: (() => void)[] = []
  const begun: string[] = []
  const turns = createCallerTurns({
    limitMs: 2,
    clockMs: () => nowMs,
    afterTurn: (work) => after.push(work),
  })
  const enter = (caller: string, request: string): void =>
    turns.enter(caller, () => {
      begun.push(request)
      nowMs += 1
    })
  const nextTurn = (): void => {
    const works = after
    after = []
    for (const work of works) work()
  }
  const take = (): string[] => begun.splice(0)
  return { enter, nextTurn, take, isIdle: () => after.length === 0, scheduled: () => after.length }
}

it('starts requests of a caller in order, for two milliseconds a turn', () => {
  const { enter, nextTurn, take } = openTurns()

  for (const request of ['a1', 'a2', 'a3', 'a4', 'a5']) enter('a', request)
  expect(take()).toEqual(['a1', 'a2'])

  nextTurn()
  enter('a', 'a6')
  expect(take()).toEqual(['a3', 'a4'])
  nextTurn()
  expect(take()).toEqual(['a5', 'a6'])
})

it('starts the request of another caller before the waiting ones', () => {
  const { enter, nextTurn, take } = openTurns()

  for (const request of ['a1', 'a2', 'a3']) enter('a', request)
  enter('b', 'b1')
  expect(take()).toEqual(['a1', 'a2', 'b1'])

  nextTurn()
  enter('b', 'b2')
  expect(take()).toEqual(['a3', 'b2'])
})

it('stops when no request waits, and starts again later', () => {
  const { enter, nextTurn, take, isIdle } = openTurns()

  enter('a', 'a1')
  nextTurn()
  expect(isIdle()).toBe(true)

  enter('a', 'a2')
  expect(take()).toEqual(['a1', 'a2'])
})

it('schedules one turn for all callers', () => {
  const { enter, nextTurn, scheduled } = openTurns()

  for (const request of ['a1', 'a2', 'a3']) enter('a', request)
  enter('b', 'b1')
  expect(scheduled()).toBe(1)

  nextTurn()
  enter('c', 'c1')
  expect(scheduled()).toBe(1)
})
