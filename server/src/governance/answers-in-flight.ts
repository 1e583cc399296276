/** Beyond this number, entries whose body was collected are removed. */
const MAX_ENTRIES = 256

/**
 * Bodies that are being made or sent. Concurrent requests for the same body share its bytes, so
 * that memory does not grow with their number. A body is held weakly: it may be collected once it
 * is sent.
 */
export interface AnswersInFlight {
  /** `key` covers everything that the body depends on. A null result is not kept. */
  take(key: string, make: () => Promise<Buffer | null>): Promise<Buffer | null>
}

export function createAnswersInFlight(): AnswersInFlight {
  const making = new Map<string, Promise<Buffer | null>>()
  const made = new Map<string, WeakRef<Buffer>>()

  async function begin(key: string, make: () => Promise<Buffer | null>): Promise<Buffer | null> {
    try {
      const body = await make()
      if (body !== null) keep(key, body)
      return body
    } finally {
      making.delete(key)
    }
  }

  function keep(key: string, body: Buffer): void {
    made.set(key, new WeakRef(body))
    if (made.size <= MAX_ENTRIES) return
    for (const [other, reference] of made) if (reference.deref() === undefined) made.delete(other)
  }

  return {
    async take(key, make) {
      const known = made.get(key)?.deref()
      if (known !== undefined) return known
      const begun = making.get(key) ?? begin(key, make)
      making.set(key, begun)
      return begun
    },
  }
}
