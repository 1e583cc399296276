/** Shared by all scripts: digits, hyphens, accents that combine. */
const SHARED = String.raw`\p{scx=Common}\p{scx=Inherited}`

/**
 * Scripts in customary use (UAX 31 table 5) and what may stand together in one label: UTS 39 §5.2,
 * "highly restrictive", where Latin may join the scripts of Japanese, Chinese and Korean.
 */
const TOGETHER: readonly (readonly string[])[] = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
  ['Arabic'],
  ['Armenian'],
  ['Bengali'],
  ['Cyrillic'],
  ['Devanagari'],
  ['Ethiopic'],
  ['Georgian'],
  ['Greek'],
  ['Gujarati'],
  ['Gurmukhi'],
  ['Hebrew'],
  ['Kannada'],
  ['Khmer'],
  ['Lao'],
  ['Malayalam'],
  ['Myanmar'],
  ['Oriya'],
  ['Sinhala'],
  ['Tamil'],
  ['Telugu'],
  ['Thaana'],
  ['Thai'],
  ['Tibetan'],
]

/** Cyrillic letters that look like Latin ones; Chrome warns of names that have no others. */
const LOOKS_LATIN = /^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡ0-9-]+$/u

/** Where Cyrillic words are at home, as Chrome has it, besides top-level domains in Cyrillic. */
const CYRILLIC_HOMES: ReadonlySet<string> = new Set('bg by kz ru su ua uz'.split(' '))

/** How a label in its own letters may deceive below a top-level domain in its own, or null. */
export function describeConfusable(label: string, topLevel: string): string | null {
  const scripts = TOGETHER.flat().filter((script, index, all) => all.indexOf(script) === index)
  const fits = TOGETHER.some((together) => consistsOf(together, label))
  if (!fits) {
    const present = scripts.filter((script) => contains(script, label))
    // A word in one rare script is somebody's language.
    if (present.length === 0) return null
    const names = present.length === 1 ? [...present, 'a rare one'] : present
    return `mixes the letters of scripts (${names.join(', ')})`
  }
  if (CYRILLIC_HOMES.has(topLevel) || contains('Cyrillic', topLevel)) return null
  return LOOKS_LATIN.test(label) && contains('Cyrillic', label)
    ? 'consists of Cyrillic letters that look like Latin ones'
    : null
}

function consistsOf(scripts: readonly string[], label: string): boolean {
  const classes = scripts.map((script) => String.raw`\p{scx=${script}}`).join('')
  return new RegExp(`^[${classes}${SHARED}]*$`, 'u').test(label)
}

/** Letters of this script alone; what several scripts share proves nothing. */
function contains(script: string, label: string): boolean {
  return new RegExp(String.raw`\p{Script=${script}}`, 'u').test(label)
}
