import type { PatternLabels } from './pattern-labels.ts'

/** In place of a character: any run of characters, and the end of a label. */
const RUN = -1
const END = -2

/**
 * The texts of all labels, concatenated, for reading names character by character. A place in them
 * marks the matched part of a label. Sets of places are sorted.
 */
export interface LabelTexts {
  /** The places before any character of these labels. */
  begin(labels: readonly number[]): Int32Array
  /** The places after one more character. */
  after(places: Int32Array, code: number): Int32Array
  /** The labels that end at these places. */
  endedAt(places: Int32Array): number[]
  /** Every character in a label. */
  readonly characters: ReadonlySet<number>
}

export function createLabelTexts({ count, literals, globs }: PatternLabels): LabelTexts {
  const starts = new Int32Array(count)
  const codes: number[] = []
  /** By place, where a label ends. */
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

  /** A run of characters may be empty, so the place after it is active too. */
  const collect = (from: Iterable<number>): Int32Array => {
    const places = new Set<number>()
    for (let place of from) {
      places.add(place)
      for (; codes[place] === RUN; place += 1) places.add(place + 1)
    }
    return Int32Array.from(places).toSorted()
  }

  return {
    begin: (labels) => collect(labels.map((label) => starts[label]!)),
    after(places, code) {
      const next: number[] = []
      for (const place of places) {
        if (codes[place] === RUN) next.push(place)
        else if (codes[place] === code) next.push(place + 1)
      }
      return collect(next)
    },
    endedAt: (places) =>
      [...places].filter((place) => codes[place] === END).map((place) => labelAt[place]!),
    characters,
  }
}
