/** Dead entries are looked for when there are so many. */
const MAX_ENTRIES = 256

/**
 * Bodies that are being made or sent, so that those who ask for the same at the same time are
 * answered by the same bytes: ten answers of 17.5 MB once took 901 MB. What nobody is being sent
 * any more may be collected; nothing is kept for its own sake.
 */
export interface AnswersInFlight {
  /** `key` tells everything that the body depends on. Null, for none, is not kept. */
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
