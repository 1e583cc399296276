/** Commands of a page, and their documented output. */
export interface TranscriptStep {
  readonly commands: string
  readonly output: string
}

/**
 * Parses the fenced `sh` blocks of a Markdown page, each with the `text` block that follows it
 * before the next `sh` block. The output is empty without a `text` block.
 */
export function parseTranscript(page: string): TranscriptStep[] {
  const steps: { commands: string; output: string }[] = []
  for (const [, language, body = ''] of page.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)) {
    if (language === 'sh') steps.push({ commands: body.trimEnd(), output: '' })
    else {
      const last = steps.at(-1)
      if (last !== undefined) last.output = body
    }
  }
  return steps
}
