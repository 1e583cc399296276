import type { ReadStream, WriteStream } from 'node:tty'

/** Questions to the user. Null means that the user cancelled. */
export interface Prompts {
  text(message: string, initial: string): Promise<string | null>
  /** The input is not echoed. */
  secret(message: string): Promise<string | null>
  /** The default is no. */
  confirm(message: string): Promise<boolean | null>
}

/** Loads the prompt library at the first question; most commands never ask one. */
export function createPrompts(input: ReadStream, output: WriteStream): Prompts {
  const streams = { input, output }
  return {
    async text(message, initial) {
      const { isCancel, text } = await import('@clack/prompts')
      const answer = await text({ ...streams, message, initialValue: initial })
      return isCancel(answer) ? null : answer
    },
    async secret(message) {
      const { isCancel, password } = await import('@clack/prompts')
      const answer = await password({ ...streams, message })
      return isCancel(answer) ? null : answer
    },
    async confirm(message) {
      const { confirm, isCancel } = await import('@clack/prompts')
      const answer = await confirm({ ...streams, message, initialValue: false })
      return isCancel(answer) ? null : answer
    },
  }
}
