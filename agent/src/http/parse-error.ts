/** An error of the parser of Node, which explains itself in `reason`. */
export interface ParseError extends Error {
  readonly code?: string
  readonly reason?: string
}

/** The fault of a message in a few words, which hold no part of the message. */
export function describeFault({ code, reason }: ParseError): string {
  if (reason === undefined) return code ?? 'unknown fault'
  return `${reason.charAt(0).toLowerCase()}${reason.slice(1)}`
}
