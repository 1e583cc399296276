import type { ReadStream, WriteStream } from 'node:tty'

/** Questions to a person. Null means that the person cancelled. */
export interface Prompts {
  text(message: string, initial: string): Promise<string | null>
  /** What is typed is not shown. */
  secret(message: string): Promise<string | null>
  /** The careful answer, no, is preset. */
  confirm(message: string): Promise<boolean | null>
}

/** Loads the prompt library at the first question only: most runs ask nothing. */
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
