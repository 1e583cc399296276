import { findByPrefix } from '../../lookup/find-by-prefix.ts'
import { notFound } from '../../lookup/find-policy.ts'
import { CliError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'

/** Name of a kind of token, and the command that lists it. */
export interface TokenKind {
  readonly name: 'token' | 'enrolment token'
  /** Such as `palisade token list`. */
  readonly listedBy: string
}

/**
 * Finds a token by id, unique name or unique id prefix. Throws `ERR_NOT_FOUND`, exit 1.
 */
export function findToken<T extends { readonly id: string; readonly name: string }>(
  kind: TokenKind,
  tokens: readonly T[],
  idOrName: string,
): T {
  const wanted = idOrName.normalize('NFC').trim()
  const byId = tokens.find(({ id }) => id === wanted)
  if (byId !== undefined) return byId
  const [found, another] = tokens.filter(({ name }) => name === wanted)
  if (found === undefined) {
    const byPrefix = findByPrefix(kind.name, tokens, wanted)
    if (byPrefix !== null) return byPrefix
    throw notFound(
      kind.name,
      idOrName,
      tokens.map(({ name }) => name),
    )
  }
  if (another === undefined) return found
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `several tokens are named \`${wanted}\`; write the id that \`${kind.listedBy} --wide\` shows`,
  )
}
