import type { PatternLabels } from './pattern-labels.ts'

/** In place of a character: any run of characters, and the end of a label. */
const RUN = -1
const END = -2

/**
 * The texts of all labels, concatenated, for reading names character by character. A position
 * in them marks the matched part of a label. Sets of positions are sorted.
 */
export interface LabelTexts {
  /** The positions before any character of these labels. */
  begin(labels: readonly number[]): Int32Array
  /** The positions after one more character. */
  after(positions: Int32Array, code: number): Int32Array
  /** The labels that end at these positions. */
  endedAt(positions: Int32Array): number[]
  /** Every character in a label. */
  readonly characters: ReadonlySet<number>
}

export function createLabelTexts({ count, literals, globs }: PatternLabels): LabelTexts {
  const starts = new Int32Array(count)
  const codes: number[] = []
  /** Labels by the position where they end. */
  const labelAt: number[] = []
  const characters = new Set<number>()

  const addPiece = (piece: string): void => {
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at)
      characters.add(code)
      codes.push(code)
    }
  }
  const end = (label: number): void => {
    labelAt[codes.length] = label
    codes.push(END)
  }
  for (const [name, label] of literals) {
    starts[label] = codes.length
    addPiece(name)
    end(label)
  }
  for (const { label, pieces } of globs) {
    starts[label] = codes.length
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) codes.push(RUN)
      addPiece(piece)
    }
    end(label)
  }

  /** A run of characters may be empty, so the position after it is active too. */
  const collect = (from: Iterable<number>): Int32Array => {
    const positions = new Set<number>()
    for (let position of from) {
      positions.add(position)
      for (; codes[position] === RUN; position += 1) positions.add(position + 1)
    }
    return Int32Array.from(positions).toSorted()
  }

  return {
    begin: (labels) => collect(labels.map((label) => starts[label]!)),
    after(positions, code) {
      const next: number[] = []
      for (const position of positions) {
        if (codes[position] === RUN) next.push(position)
        else if (codes[position] === code) next.push(position + 1)
      }
      return collect(next)
    },
    endedAt: (positions) =>
      [...positions]
        .filter((position) => codes[position] === END)
        .map((position) => labelAt[position]!),
    characters,
  }
}
