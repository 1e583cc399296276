import { getEventListeners } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createDeadline } from '../../../agent/src/sync/deadline.ts'

function setUp(stop = new AbortController()) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return { stop, deadline: createDeadline(stop.signal, 1_000) }
}

it('is over when its time is, and says so', () => {
  const { deadline } = setUp()

  vi.advanceTimersByTime(999)
  expect([deadline.isOver(), deadline.signal.aborted]).toEqual([false, false])
  vi.advanceTimersByTime(1)

  expect([deadline.isOver(), deadline.signal.aborted]).toEqual([true, true])
  expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it('aborts with the signal that it was made from, and is not over by that', () => {
  const { stop, deadline } = setUp()

  stop.abort()

  expect([deadline.isOver(), deadline.signal.aborted]).toEqual([false, true])
  expect(deadline.signal.reason).toBe(stop.signal.reason)
})

it('is aborted from the beginning by a signal that is', () => {
  const stop = new AbortController()
  stop.abort()

  expect(setUp(stop).deadline.signal.aborted).toBe(true)
})

it('leaves nothing behind once it is lifted', () => {
  const { stop, deadline } = setUp()
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)

  deadline.lift()

  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  expect(vi.getTimerCount()).toBe(0)
  stop.abort()
  expect([deadline.isOver(), deadline.signal.aborted]).toEqual([false, false])
})
