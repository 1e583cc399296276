/** The eight words of an IPv6 address of hexadecimal words, with one `::` at most. */
export function ipv6Words(address: string): readonly number[] {
  const [before = '', after] = address.split('::')
  const head = readWords(before)
  if (after === undefined) return head
  const tail = readWords(after)
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

function readWords(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16))
}
