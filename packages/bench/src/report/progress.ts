const { stderr } = process

/** One line of a terminal that says what is going on; says nothing elsewhere. */
export const progress = {
  show(text: string): void {
    if (stderr.isTTY) stderr.write(`\r\u001B[2K${text.slice(0, stderr.columns - 1)}`)
  },
  clear(): void {
    if (stderr.isTTY) stderr.write('\r\u001B[2K')
  },
}
