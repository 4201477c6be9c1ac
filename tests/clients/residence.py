"""The fact that the scenarios save: where the user lives, and the words that it rests on."""

PATCH = """--- /dev/null
+++ b/topics/personal/residence.md
@@ -0,0 +1,7 @@
+# Residence
+
+## Where the user lives
+
+The user moved to Pudong.[^new-evidence-move] ^new-block-home
+
+[^new-evidence-move]: Time: `2026-08-03`; Sources: new-source-move
"""
SOURCE = {
    "label": "new-source-move",
    "role": "user",
    "content": "I have moved to Pudong.",
    "observed_at": "2026-08-03T10:30:00+08:00",
}
