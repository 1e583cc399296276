import { expect, it } from 'vitest'
import { createRequestsInFlight } from '../../../server/src/work/requests-in-flight.ts'

/** Two requests of a caller at a time. */
function open() {
  const inFlight = createRequestsInFlight(2)
  const begun: string[] = []
  return {
    enter: (caller: string, request: string) => inFlight.enter(caller, () => begun.push(request)),
    take: () => begun.splice(0),
  }
}

it('starts requests of a caller up to the limit, independent of others', () => {
  const { enter, take } = open()

  for (const request of ['a1', 'a2', 'a3']) enter('a', request)
  enter('b', 'b1')

  expect(take()).toEqual(['a1', 'a2', 'b1'])
})

it('starts the next one in order of arrival when one leaves, once', () => {
  const { enter, take } = open()
  const [leave] = ['a1', 'a2', 'a3', 'a4'].map((request) => enter('a', request))
  take()

  leave?.()
  leave?.()

  expect(take()).toEqual(['a3'])
})

it('forgets a request that leaves before its turn', () => {
  const { enter, take } = open()
  const [first, second, third] = ['a1', 'a2', 'a3', 'a4'].map((request) => enter('a', request))
  take()

  third?.()
  first?.()
  second?.()

  expect(take()).toEqual(['a4'])
})

it('starts requests at once after all have left', () => {
  const { enter, take } = open()
  for (const leave of ['a1', 'a2', 'a3'].map((request) => enter('a', request))) leave()
  take()

  enter('a', 'a4')

  expect(take()).toEqual(['a4'])
})

it('keeps a caller with requests in flight while thousands of others pass', () => {
  const { enter, take } = open()
  const [leave] = ['a1', 'a2', 'a3'].map((request) => enter('a', request))

  for (let n = 0; n < 3000; n += 1) enter(`other ${n}`, `${n}`)()
  take()
  enter('a', 'a4')
  expect(take()).toEqual([])

  leave?.()
  expect(take()).toEqual(['a3'])
})
