/** Bytes of one draw. */
const DRAWN_BYTES = 4096

/**
 * The same source of random bytes, asked for many at once: drawing the twelve of an id by themselves
 * took as long as writing its row. For ids alone, because what is drawn ahead lies in memory.
 */
export function drawAhead(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let drawn = new Uint8Array()
  let used = 0
  return (bytes) => {
    if (bytes > DRAWN_BYTES) return random(bytes)
    if (used + bytes > drawn.length) {
      drawn = Uint8Array.from(random(DRAWN_BYTES))
      used = 0
    }
    used += bytes
    return drawn.subarray(used - bytes, used)
  }
}
