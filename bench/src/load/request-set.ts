import { COUNTER } from './load-request.ts'

/** Requests that are sent in turns, and the index of the next one. */
export interface RequestSet {
  readonly requests: readonly Buffer[]
  readonly counterAt: readonly number[]
  next: number
  counter: number
}

export function createRequestSet(texts: readonly string[]): RequestSet {
  const requests = texts.map((text) => Buffer.from(text, 'latin1'))
  const counterAt = texts.map((text) => text.indexOf(COUNTER))
  return { requests, counterAt, next: 0, counter: 0 }
}

/** Returns the next request of the set and its index. */
export function takeRequest(set: RequestSet): { request: Buffer; index: number } {
  const index = set.next
  set.next = (index + 1) % set.requests.length
  const known = set.requests[index] ?? Buffer.alloc(0)
  const at = set.counterAt[index] ?? -1
  if (at < 0) return { request: known, index }
  // A copy, because another connection may still send the last one.
  const request = Buffer.from(known)
  set.counter += 1
  request.write(String(set.counter).padStart(COUNTER.length, '0'), at, 'latin1')
  return { request, index }
}
