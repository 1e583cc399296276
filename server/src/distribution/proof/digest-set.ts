/** Of each digest; two that share so many are not found by anybody. */
const WORDS = 4
const FIRST_PLACES = 1024
/** Beyond three quarters the way to a free place becomes long. */
const MAX_FILLED = 0.75

/** Digests of 16 bytes or more, of which the first 16 count. */
export interface DigestSet {
  has(digest: Uint8Array): boolean
  add(digest: Uint8Array): void
  size(): number
}

/**
 * A hash table of bare numbers with open addressing: 21 to 43 bytes an entry, where a `Set` of
 * strings takes 110. What is put in is evenly spread already, so its first word is its place.
 */
export function createDigestSet(): DigestSet {
  let table = new Uint32Array(WORDS * FIRST_PLACES)
  let size = 0

  /** Where the digest is, or where it would be: the first free place from its own on. */
  function findPlace(words: Uint32Array, digest: ArrayLike<number>): number {
    const places = words.length / WORDS
    for (let place = (digest[0] ?? 0) & (places - 1); ; place = (place + 1) & (places - 1))
      if (isFree(words, place) || isAt(words, place, digest)) return place
  }

  function grow(): void {
    const wider = new Uint32Array(2 * table.length)
    for (let at = 0; at < table.length; at += WORDS) {
      if (isFree(table, at / WORDS)) continue
      const words = table.subarray(at, at + WORDS)
      wider.set(words, WORDS * findPlace(wider, words))
    }
    table = wider
  }

  return {
    has: (digest) => !isFree(table, findPlace(table, wordsOf(digest))),
    add(digest) {
      const words = wordsOf(digest)
      const place = findPlace(table, words)
      if (!isFree(table, place)) return
      table.set(words, WORDS * place)
      size += 1
      if (size > (MAX_FILLED * table.length) / WORDS) grow()
    },
    size: () => size,
  }
}

/** Never all zero, which is a free place. */
function wordsOf(digest: Uint8Array): readonly number[] {
  const view = new DataView(digest.buffer, digest.byteOffset)
  const words = [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)]
  return words.some((word) => word !== 0) ? words : [0, 0, 0, 1]
}

function isFree(words: Uint32Array, place: number): boolean {
  const at = WORDS * place
  return words[at] === 0 && words[at + 1] === 0 && words[at + 2] === 0 && words[at + 3] === 0
}

function isAt(words: Uint32Array, place: number, digest: ArrayLike<number>): boolean {
  const at = WORDS * place
  return (
    words[at] === digest[0] &&
    words[at + 1] === digest[1] &&
    words[at + 2] === digest[2] &&
    words[at + 3] === digest[3]
  )
}
