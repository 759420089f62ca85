#pragma once

namespace convseq::cli {

// From here on the first SIGINT or SIGTERM only makes interrupted() true, for the command to end
// cleanly; the second ends the program at once.
void end_on_signals();
bool interrupted();

}  // namespace convseq::cli
