import type { ServerResponse } from 'node:http'
import { ApiError } from '../../platform/api-error.ts'

/** Each download has the memory of two pages. */
const LIMITS = {
  most: 32,
  mostOfOrganization: 4,
  /** Any member may download own records: two must not take the slots of all others. */
  mostOwnOfOrganization: 8,
  mostOfCaller: 2,
  /** 35 kB/s. */
  leastBytes: 2 ** 20,
  windowMs: 30_000,
  withinMs: 60 * 60_000,
}

export interface Download {
  readonly org: string
  readonly caller: string
  /** Whether it has the records of the caller's own machines alone. */
  readonly own: boolean
}

/**
 * Bounds the downloads that go on. Those of own records have slots apart from those of all
 * records: two members could take every slot of the organization from its auditor.
 */
export interface Downloads {
  /**
   * Takes a slot until the response closes. A client that is slower than the least rate while
   * bytes wait for it, or that takes an hour, is cut. Throws ApiError 429 without a free slot.
   */
  enter(download: Download, response: ServerResponse): void
}

export function createDownloads(limits = LIMITS): Downloads {
  const running = new Set<Download>()

  function requireSlot({ org, caller, own }: Download): void {
    const most = own ? limits.mostOwnOfOrganization : limits.mostOfOrganization
    const alike = [...running].filter((each) => each.own === own)
    const ofOrganization = alike.filter((each) => each.org === org)
    const ofCaller = ofOrganization.filter((each) => each.caller === caller)
    if (
      alike.length >= limits.most ||
      ofOrganization.length >= most ||
      ofCaller.length >= limits.mostOfCaller
    )
      throw new ApiError(429, 'limit_exceeded', 'too many downloads at once; wait for one', {
        headers: { 'retry-after': '10' },
      })
  }

  return {
    enter(download, response) {
      requireSlot(download)
      const entry = { ...download }
      running.add(entry)
      const stop = cutSlow(response, limits)
      response.once('close', () => {
        stop()
        running.delete(entry)
      })
    },
  }
}

/** Closes the connection of a slow client. Returns a function that ends the watch. */
function cutSlow(
  response: ServerResponse,
  { leastBytes, windowMs, withinMs }: typeof LIMITS,
): () => void {
  const { socket } = response
  if (socket === null) return () => {}
  let before = socket.bytesWritten
  const watch = setInterval(() => {
    const isSlow = response.writableNeedDrain && socket.bytesWritten - before < leastBytes
    before = socket.bytesWritten
    if (isSlow) socket.destroy()
  }, windowMs).unref()
  const end = setTimeout(() => socket.destroy(), withinMs).unref()
  return () => {
    clearInterval(watch)
    clearTimeout(end)
  }
}
