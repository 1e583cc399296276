/**
 * The failure of a command (`ERR_COMMAND_FAILED`): `usage` when the arguments are at fault,
 * `refused` when the state of the system is.
 */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly code = 'ERR_COMMAND_FAILED'
  readonly kind: 'usage' | 'refused'

  constructor(kind: 'usage' | 'refused', message: string) {
    super(message)
    this.kind = kind
  }
}
