import * as fc from 'fast-check'
import { segments, someSegment } from './path.ts'

const CHANGES = [
  'deeper',
  'shallower',
  'sibling',
  'other letter case',
  'trailing slash',
  'decomposed',
  'dot-dot',
  'NUL',
] as const

/** How to derive a path request from a pattern: the texts for the stars, and the near miss. */
export interface PathChoice {
  readonly star: string
  readonly doubleStar: readonly string[]
  readonly change: 'none' | (typeof CHANGES)[number]
  readonly more: string
}

export function pathChoice(): fc.Arbitrary<PathChoice> {
  return fc.record({
    star: fc.constantFrom('', 'a', 'b', 'ab', '.', 'a*', '\n'),
    doubleStar: segments(3),
    change: fc.oneof(
      { weight: 2, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...CHANGES) },
    ),
    more: someSegment(),
  })
}

export function pathFrom(pattern: string, home: string | undefined, choice: PathChoice): string {
  const rooted = pattern.replace(/^~(?=\/|$)/, () => home ?? '/home/dev')
  const parts = rooted
    .split('/')
    .slice(1)
    .flatMap((part) =>
      part === '**' ? choice.doubleStar : [part.replaceAll('*', () => choice.star) || 'x'],
    )
  return changed(parts, choice)
}

function changed(parts: readonly string[], { change, more }: PathChoice): string {
  const text = `/${parts.join('/')}`
  switch (change) {
    case 'none':
      return text
    case 'deeper':
      return `${text}/${more}`
    case 'shallower':
      return `/${parts.slice(0, -1).join('/')}`
    case 'sibling':
      return `${text}2`
    case 'other letter case':
      return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase()
    case 'trailing slash':
      return `${text}/`
    case 'decomposed':
      return text.normalize('NFD')
    case 'dot-dot':
      return `${text}/../${more}`
    case 'NUL':
      return `${text}\0`
  }
}
