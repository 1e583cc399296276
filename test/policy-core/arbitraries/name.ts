import * as fc from 'fast-check'

/** Few labels, so that names collide, nest and differ by one letter. */
export function labels(): fc.Arbitrary<string> {
  return fc.constantFrom('a', 'b', 'ab', 'api', 'xn--tda', '_x', '-y-', '1', 'com')
}

/** A canonical name of one to three labels. */
export function names(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(labels(), { maxLength: 2 }), fc.constantFrom('com', 'example', 'test'))
    .map(([first, last]) => [...first, last].join('.'))
}

export function ports(): fc.Arbitrary<number> {
  return fc.constantFrom(443, 80, 8080, 65535)
}

/** A name pattern: the name itself, `*.` or `**.` of it, with or without port, in any spelling. */
export function namePatterns(): fc.Arbitrary<string> {
  return fc
    .record({
      stars: fc.constantFrom('', '', '*.', '**.'),
      name: names(),
      spelling: nameSpellings(),
      port: fc.option(ports(), { nil: undefined, freq: 3 }),
    })
    .map(({ stars, name, spelling, port }) => {
      const suffix = port === undefined ? '' : `:${port}`
      return `${stars}${respellName(name, spelling)}${suffix}`
    })
}

const SPELLINGS = [
  'upper case',
  'trailing dot',
  'IDN',
  'full width',
  'soft hyphen',
  'wide dot',
] as const
export type NameSpelling = 'canonical' | (typeof SPELLINGS)[number]

/** The spelling of a name, mostly canonical. */
export function nameSpellings(): fc.Arbitrary<NameSpelling> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('canonical') },
    { weight: 1, arbitrary: fc.constantFrom(...SPELLINGS) },
  )
}

/** Respells a name without changing its meaning. */
export function respellName(name: string, spelling: NameSpelling): string {
  switch (spelling) {
    case 'upper case':
      return name.toUpperCase()
    case 'trailing dot':
      return `${name}.`
    case 'IDN':
      return name.replaceAll('xn--tda', 'Ü')
    case 'full width':
      return name.replace(/[a-z](?=[^-]*$)/, (letter) =>
        String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0),
      )
    case 'soft hyphen':
      return `${name.slice(0, -1)}\u00ad${name.slice(-1)}`
    case 'wide dot':
      return name.replaceAll('.', '\u3002')
    default:
      return name
  }
}
