import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** A readable description of an issue and the path of the invalid member. */
export interface IssueDescription {
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** Path such as `resources[2]`; undefined when the whole value is invalid. */
  readonly field: string | undefined
}

/** Bounds echoed text, because names and values come from the caller. */
const MAX_ECHO = 64

/** Formats an issue of a schema as a sentence that names the member. */
export function describeIssue(issue: Issue): IssueDescription {
  if (issue.code === 'unrecognized_keys') {
    const field = formatPath([...issue.path, issue.keys[0] ?? ''])
    return { message: `unknown member ${quote(field)}`, field: shorten(field) }
  }
  const field = formatPath(issue.path)
  if (field === '') return { message: describeWhole(issue), field: undefined }
  return { message: `${quote(field)} ${describeMember(issue)}`, field: shorten(field) }
}

/** Quotes the caller's text in back-ticks, shortened to fit into a sentence. */
export function quote(text: string): string {
  return `\`${shorten(text)}\``
}

/** Shortens the caller's text to a length that may be echoed. */
export function shorten(text: string): string {
  const shown = text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text
  return shown.toWellFormed()
}

function describeMember(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === null) return 'must not be null'
      if (issue.input === undefined) return 'is missing'
      return `must be ${withArticle(issue.expected)}`
    case 'invalid_value':
      return issue.input === undefined
        ? 'is missing'
        : `must be one of ${issue.values.map((value) => `\`${String(value)}\``).join(', ')}`
    default:
      return lowerFirst(issue.message)
  }
}

function describeWhole(issue: Issue): string {
  if (issue.code === 'invalid_type') return `the body must be ${withArticle(issue.expected)}`
  return lowerFirst(issue.message)
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('')
}
