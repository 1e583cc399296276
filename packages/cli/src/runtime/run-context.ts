import { jsonLine } from '../terminal/printable.ts'
import type { Style } from '../terminal/style.ts'
import type { Io } from './io.ts'
import { write } from './write.ts'

/** Context passed to every command. */
export interface RunContext {
  readonly io: Io
  readonly style: Style
  /** Sets the exit code of the run; 0 when no command sets it. */
  readonly exit: (code: number) => void
}

/** Prints `value` as one JSON line, or `text` for people. */
export async function present(
  { io }: Pick<RunContext, 'io'>,
  json: boolean | undefined,
  value: unknown,
  text: () => string,
): Promise<void> {
  await write(io.stdout, json === true ? jsonLine(value) : text())
}
