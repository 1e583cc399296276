/** Characters shared by all scripts: digits, hyphens, combining accents. */
const SHARED = String.raw`\p{scx=Common}\p{scx=Inherited}`

/**
 * Scripts in customary use (UAX 31 table 5), grouped by the combinations allowed in one label: UTS
 * 39 §5.2, "highly restrictive", where Latin may join the scripts of Japanese, Chinese and Korean.
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

/** Cyrillic letters that look like Latin ones. Chrome warns of names that consist of these only. */
const LOOKS_LATIN = /^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡ0-9-]+$/u

/** ASCII top-level domains in which Chrome accepts Cyrillic names without a warning. */
const CYRILLIC_HOMES: ReadonlySet<string> = new Set('bg by kz ru su ua uz'.split(' '))

/** Describes how a label may deceive below a top-level domain, or null. Both are in Unicode. */
export function describeConfusable(label: string, topLevel: string): string | null {
  const scripts = TOGETHER.flat().filter((script, index, all) => all.indexOf(script) === index)
  const fits = TOGETHER.some((together) => consistsOf(together, label))
  if (!fits) {
    const present = scripts.filter((script) => contains(script, label))
    // A word in a single rare script is legitimate.
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

/** Tests for letters of this script alone, because shared characters prove no script. */
function contains(script: string, label: string): boolean {
  return new RegExp(String.raw`\p{Script=${script}}`, 'u').test(label)
}
