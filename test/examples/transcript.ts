/** Commands of a page, and what it says that they print. */
export interface TranscriptStep {
  readonly commands: string
  readonly output: string
}

/**
 * The fenced `sh` blocks of a page of Markdown, each with the `text` block that follows it before
 * the next one; an output that the page leaves out is empty.
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
