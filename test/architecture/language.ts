import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

/** Uses in 1,000 words of comments that a part may have. */
const RATES = [
  { word: /^what$/, most: 3, name: 'what' },
  { word: /^(?:nobody|nothing|none)$/, most: 2, name: 'nobody, nothing or none' },
] as const
const MOST_COLUMNS = 100
/** Parts whose names and doc comments are held to the rules below. */
const NAMED_PARTS =
  /^(?:agent|packages\/(?:cli|protocol|policy-analysis|policy-core)|server)\/src\//
/** Words that no name has, with those that say more. */
const BANNED: Readonly<Record<string, string>> = {
  crowd: 'group',
  helper: 'the noun that it is',
  inquiry: 'search',
  judge: 'check, evaluate or match',
  manager: 'the noun that it is',
  place: 'directory, index, key, location, position or slot',
  stuff: 'the noun that it is',
  surroundings: 'environment',
  suspect: 'candidate',
  thing: 'the noun that it is',
  trouble: 'fault',
}
/** Names that are published, or follow a word of the wire. */
const KEPT_NAMES = new Set(['DenyPlace', 'NOT_JUDGED', 'NotJudged', 'NotJudgedCause', 'notJudged'])
const DECLARATION = /\b(?:class|const|function\*?|interface|let|type) (?<name>[A-Za-z_]\w*)/g
/** Beginnings of a doc comment that leave out the thing it is on. */
const NAMELESS =
  /^(?:(?:As|By|Of|Those)\b|That of\b|The same(?:[,:.]| (?:after|as|but|by|for|if|in|of|once|to|when|while|with)\b))/
/** Words of the median sentence in a document that is long enough for a median. */
const MOST_WORDS = 16
const FEWEST_SENTENCES = 10

/** Comments are code's prose: a relative clause without a noun leaves the reader to guess it. */
export function vagueComments(files: readonly SourceFile[]): Violation[] {
  const parts = Map.groupBy(files, ({ path }) => partOf(path))
  return [...parts].flatMap(([part, sources]) => {
    const words = sources.flatMap(({ text }) => wordsOf(proseOf(text)))
    return RATES.flatMap(({ word, most, name }) => {
      const uses = words.filter((each) => word.test(each)).length
      const rate = (uses / words.length) * 1000
      return uses * 1000 <= most * words.length
        ? []
        : [`${part}: uses ${name} ${rate.toFixed(1)} times in 1,000 words, ${most} at most`]
    })
  })
}

/** A file or a declaration with a word that has too many meanings, or none. */
export function bannedNames(files: readonly SourceFile[]): Violation[] {
  return namedParts(files).flatMap(({ path, text }) => {
    const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '')
    const names = [...text.matchAll(DECLARATION)].map(({ groups }) => groups?.['name'] ?? '')
    return [file, ...new Set(names)].flatMap((name) => {
      const banned = KEPT_NAMES.has(name) ? undefined : wordsOfName(name).find(isBanned)
      if (banned === undefined) return []
      return [`${path}: the name ${name} has a banned word; say ${BANNED[singular(banned)]}`]
    })
  })
}

function wordsOfName(name: string): readonly string[] {
  return name.split(/[-_]|(?<=[a-z\d])(?=[A-Z])/).map((word) => word.toLowerCase())
}

function isBanned(word: string): boolean {
  return Object.hasOwn(BANNED, singular(word))
}

/** Also takes `judged` for `judge`. */
function singular(word: string): string {
  if (Object.hasOwn(BANNED, word)) return word
  return word.replace(/ies$/, 'y').replace(/[sd]$/, '')
}

/** A doc comment says which thing it is on: "The same of any of four." does not. */
export function namelessComments(files: readonly SourceFile[]): Violation[] {
  return namedParts(files).flatMap(({ path, text }) =>
    [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap(([, comment = '']) => {
      const sentence = comment.replaceAll(/^ *\*? ?/gm, '').trim()
      return NAMELESS.test(sentence)
        ? [`${path}: begins a doc comment with \`${sentence.slice(0, 30)}\``]
        : []
    }),
  )
}

function namedParts(files: readonly SourceFile[]): readonly SourceFile[] {
  return files.filter(({ path }) => NAMED_PARTS.test(path))
}

/** A reader, a user and a caller are *they*. */
export function genderedWords(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const prose = path.endsWith('.md') ? withoutCode(text) : proseOf(text)
    const found = /\b(?:he|him|his|she|her|hers)\b/i.exec(prose)
    return found === null ? [] : [`${path}: says ${found[0]}, not they`]
  })
}

/** The width that the formatter keeps, for what it leaves alone: comments and literals. */
export function longLines(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const isLong = line.length > MOST_COLUMNS && !isUnbreakable(line)
      return isLong ? [`${path}:${index + 1}: has ${line.length} columns`] : []
    }),
  )
}

/** One word, such as a hash, an address or a pattern, cannot be wrapped. */
function isUnbreakable(line: string): boolean {
  return line.split(/\s+/).some((word) => word.length > MOST_COLUMNS / 2)
}

/** A sentence names its subject; a question may begin so. */
export function sentencesWithoutSubject(documents: readonly SourceFile[]): Violation[] {
  return documents.flatMap(({ path, text }) =>
    sentencesOf(text)
      .filter((sentence) => /^(?:What|Who|Whoever|Of which)\b[^?]*$/.test(sentence))
      .map((sentence) => `${path}: begins a sentence with \`${sentence.slice(0, 30)}\``),
  )
}

export function longSentences(documents: readonly SourceFile[]): Violation[] {
  return documents.flatMap(({ path, text }) => {
    const lengths = sentencesOf(text).map((sentence) => sentence.split(/\s+/).length)
    const median = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
    return median < MOST_WORDS || lengths.length < FEWEST_SENTENCES
      ? []
      : [`${path}: has a median sentence of ${median} words`]
  })
}

/** `packages/NAME` or the folder at the top. */
function partOf(path: string): string {
  return path.split('/', path.startsWith('packages/') ? 2 : 1).join('/')
}

const TOKENS =
  /(?<comment>\/\*[\s\S]*?\*\/|\/\/.*$)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:[!&|?{};]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//gm

/** The comments of a source, without the code that they quote. */
function proseOf(text: string): string {
  const comments = [...text.matchAll(TOKENS)].map(({ groups }) => groups?.['comment'] ?? '')
  return withoutCode(comments.join('\n'))
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, 'code')
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z][a-z'’]*/g) ?? []
}

/** Of paragraphs and list items; headings, tables and code have none. */
function sentencesOf(text: string): string[] {
  return withoutCode(text)
    .split(/\n{2,}|^ *(?:[-*]|\d+\.) +/m)
    .filter((block) => !/^\s*(?:[#|<]|$)/.test(block))
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?:]) (?=\p{Lu}|code)/u))
    .map((sentence) => sentence.replace(/^[\s*_"]+/, '').trim())
    .filter((sentence) => sentence !== '')
}
