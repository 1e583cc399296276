import { createHash } from 'node:crypto'

/** Begins the line that tells a file of ours from one that a person wrote or changed. */
const MARK = 'Written by palisade-agent install; a changed file is left alone. SHA-256: '

/** Adds a first line with the digest of `text`, after `comment`, which begins a comment. */
export function markText(text: string, comment: '#' | '.\\"'): string {
  return `${comment} ${MARK}${digestOf(text)}\n${text}`
}

/** Whether a text is one that `markText` made, as it was. */
export function isUnchanged(text: string): boolean {
  const end = text.indexOf('\n')
  const [, digest] = text.slice(0, Math.max(end, 0)).split(MARK)
  return digest !== undefined && digest === digestOf(text.slice(end + 1))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
