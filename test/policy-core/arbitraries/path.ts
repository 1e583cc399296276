import * as fc from 'fast-check'

/**
 * Few segments, so that paths collide. Some look like patterns, some differ in case or
 * normalization.
 */
export function someSegment(): fc.Arbitrary<string> {
  return fc.constantFrom(
    'a',
    'b',
    'ab',
    'A',
    's',
    'S',
    '\u017f',
    '\u00df',
    '\u03c3',
    '\u03c2',
    'aab',
    '.a',
    '...',
    '\u00e9',
    'e\u0301',
    '~',
    'a*',
    '[a]',
  )
}

export function segments(maxLength: number): fc.Arbitrary<string[]> {
  return fc.array(someSegment(), { maxLength })
}

/** A canonical path of up to five segments. */
export function paths(): fc.Arbitrary<string> {
  return segments(5).map((names) => `/${names.join('/')}`)
}

/** A path pattern, often with several `*` and `**`, sometimes below the home directory. */
export function pathPatterns(): fc.Arbitrary<string> {
  const part = fc.oneof(
    { weight: 4, arbitrary: someSegment().filter((text) => !text.includes('*')) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('*', 'a*', '*b', '*a*b*', '.*', '*[a]*', '?', '{a,b}'),
    },
    { weight: 2, arbitrary: fc.constant('**') },
  )
  return fc
    .tuple(fc.constantFrom('', '', '', '~'), fc.array(part, { maxLength: 5 }))
    .map(([start, parts]) => [start, ...parts].join('/') || '/')
}
