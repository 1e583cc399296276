import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { notFound } from './find-policy.ts'

/** What tokens of a kind are called, and what lists them. */
export interface TokenKind {
  readonly name: 'token' | 'enrolment token'
  /** Such as `palisade token list`. */
  readonly listedBy: string
}

/** The token with this id, otherwise the only one with this name. Throws `ERR_NOT_FOUND`, exit 1. */
export function findToken<T extends { readonly id: string; readonly name: string }>(
  kind: TokenKind,
  tokens: readonly T[],
  idOrName: string,
): T {
  const wanted = idOrName.normalize('NFC').trim()
  const byId = tokens.find(({ id }) => id === wanted)
  if (byId !== undefined) return byId
  const [found, another] = tokens.filter(({ name }) => name === wanted)
  if (found === undefined)
    throw notFound(
      kind.name,
      idOrName,
      tokens.map(({ name }) => name),
    )
  if (another === undefined) return found
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `several tokens are named \`${wanted}\`; write the id that \`${kind.listedBy}\` shows`,
  )
}
